package database

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

func TestCannotAdopt(t *testing.T) {
	meta := func(dbtype string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "db-root", Labels: map[string]string{TypeLabel: dbtype}}
	}
	secret := &corev1.Secret{ObjectMeta: meta("mysql")}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("mysql")}
	claim.Name = "db-data"
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	const another = "db-root has the label app.kubernetes.io/name=mysql, so dbtype cannot be mariadb"
	const tooSmall = "the data are in PersistentVolumeClaim db-data: storageSize must be 2Gi or more"
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: secret.Labels}}
	onClaim := deployment.DeepCopy()
	onClaim.Spec.Template.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "db-data"}}}}
	for name, test := range map[string]struct {
		dbtype dbv1alpha1.DatabaseType
		size   string
		kept   []metav1.Object
		want   string
	}{
		"nothing was kept":  {"mysql", "2Gi", nil, "no Secret db-root was kept, so there are no children of first"},
		"the same":          {"mysql", "2Gi", []metav1.Object{secret, claim, onClaim}, ""},
		"more":              {"mysql", "3Gi", []metav1.Object{secret, claim, onClaim}, ""},
		"less":              {"mysql", "2047Mi", []metav1.Object{secret, claim}, tooSmall},
		"no storageSize":    {"mysql", "", []metav1.Object{secret, claim}, tooSmall},
		"the claim is lost": {"mysql", "2Gi", []metav1.Object{secret, onClaim}, ""},
		"only the Secret":   {"mysql", "2Gi", []metav1.Object{secret}, ""},
		"another dbtype":    {"mariadb", "", []metav1.Object{secret}, another},
		"of the claim only": {"mariadb", "2Gi", []metav1.Object{claim}, strings.Replace(another, "root", "data", 1)},
		"a label is removed": {"mysql", "", []metav1.Object{&corev1.Secret{ObjectMeta: meta("")}},
			"db-root has no label app.kubernetes.io/name: set it to the type of the data"},
		"no claim, which the Deployment has": {"mysql", "", []metav1.Object{secret, onClaim},
			"the data of Deployment db are in a PersistentVolumeClaim: storageSize must not be left out"},
		"a claim, which the Deployment has not": {"mysql", "2Gi", []metav1.Object{secret, deployment},
			"the data of Deployment db are in no PersistentVolumeClaim: storageSize must be left out"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &dbv1alpha1.DatabaseManager{Spec: dbv1alpha1.DatabaseManagerSpec{
				Dbtype: test.dbtype, DeploymentName: "db", AdoptFrom: "first"}}
			if test.size != "" {
				d.Spec.StorageSize = new(resource.MustParse(test.size))
			}
			if err := CannotAdopt(d, test.kept); (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// The server rounds a claim's size up, and the same spec must be able to adopt it.
func TestASizeIsRoundedAsTheServerDoes(t *testing.T) {
	d := &dbv1alpha1.DatabaseManager{Spec: dbv1alpha1.DatabaseManagerSpec{Dbtype: "mysql", DeploymentName: "db", AdoptFrom: "first",
		StorageSize: new(resource.MustParse("1.00001Gi"))}}
	labels := map[string]string{TypeLabel: "mysql"}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	claim.Spec.Resources.Requests = *Claim(d, nil).Spec.Resources.Requests
	if err := CannotAdopt(d, []metav1.Object{&corev1.Secret{ObjectMeta: claim.ObjectMeta}, claim}); err != nil {
		t.Error(err)
	}
}
